"""Where the server is: a command line that starts it, or the address of one that runs."""

import os

from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client


def is_address(words):
    return words[0].startswith("http")


def server(words):
    """The token, if one is needed, is in CAIRN_TEST_TOKEN."""
    if not is_address(words):
        return StdioServerParameters(command=words[0], args=words[1:])
    token = os.environ.get("CAIRN_TEST_TOKEN")
    headers = {"Authorization": f"Bearer {token}"} if token else None
    return streamable_http_client(words[0], http_client=create_mcp_http_client(headers=headers))
