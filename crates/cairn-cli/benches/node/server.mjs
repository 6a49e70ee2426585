// The smallest MCP server that records thoughts by the same contract, to compare Cairn with:
// hash-linked per task, validated, one transaction a call, on disk before the answer.
import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import Database from 'better-sqlite3';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const ZERO_HASH = '0'.repeat(64);

const db = new Database(process.argv[2]);
db.pragma('journal_mode = WAL');
db.pragma('synchronous = FULL');
// Not SQLite's default: Cairn gains from fewer checkpoints, so the peer gets them too.
db.pragma('wal_autocheckpoint = 8192');
db.exec(`
  CREATE TABLE IF NOT EXISTS thought_records (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    task_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    content TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL
  );
  CREATE INDEX IF NOT EXISTS idx_trail_task ON thought_records(task_id, created_at);
  CREATE INDEX IF NOT EXISTS idx_trail_prev ON thought_records(prev_hash);
`);

const newestOfTask = db
  .prepare('SELECT hash FROM thought_records WHERE task_id = ? ORDER BY created_at DESC LIMIT 1')
  .pluck();
const insert = db.prepare('INSERT INTO thought_records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)');

const COLUMNS = 'id, type, task_id, agent_id, content, timestamp, prev_hash, hash';
const listings = new Map();

// Keys in sorted order and strings only: JSON.stringify then gives RFC 8785 bytes.
const computeHash = ({ content, id, prev_hash, task_id, timestamp, type }) =>
  createHash('sha256')
    .update(JSON.stringify({ content, id, prev_hash, task_id, timestamp, type }))
    .digest('hex');

const createThoughtRecord = db.transaction(({ type, task_id, agent_id, content }) => {
  const prev_hash = newestOfTask.get(task_id) ?? ZERO_HASH;
  const id = randomUUID();
  const timestamp = new Date().toISOString();
  const hash = computeHash({ content, id, prev_hash, task_id, timestamp, type });
  insert.run(id, type, task_id, agent_id, content, timestamp, prev_hash, hash, timestamp);
  return { id, type, task_id, agent_id, content, timestamp, prev_hash, hash };
});

function listThoughtRecords({ task_id, limit }) {
  const sql =
    `SELECT ${COLUMNS} FROM thought_records` +
    (task_id === undefined ? '' : ' WHERE task_id = ?') +
    ' ORDER BY created_at ASC' +
    (limit === undefined ? '' : ' LIMIT ?');
  if (!listings.has(sql)) listings.set(sql, db.prepare(sql));
  const values = [task_id, limit].filter((value) => value !== undefined);
  return listings.get(sql).all(...values);
}

const tools = {
  thought_record: {
    description: 'Records a thought, linked to the one before it in its task.',
    input: z.object({
      type: z.enum(['plan', 'analysis', 'decision', 'reflection']),
      task_id: z.string().min(1),
      agent_id: z.string().min(1),
      content: z.string(),
    }),
    run: (input) => createThoughtRecord.immediate(input),
  },
  thought_record_list: {
    description: 'Lists thoughts in the order in which they were recorded.',
    input: z.object({
      task_id: z.string().min(1).optional(),
      limit: z.number().int().positive().optional(),
    }),
    run: (input) => ({ records: listThoughtRecords(input) }),
  },
};

const envelope = (body) => ({
  content: [{ type: 'text', text: JSON.stringify(body) }],
  structuredContent: body,
  ...(body.ok ? {} : { isError: true }),
});
const failure = (code, message, details) => envelope({ ok: false, error: { code, message, details } });

const listed = Object.entries(tools).map(([name, tool]) => ({
  name,
  description: tool.description,
  inputSchema: z.toJSONSchema(tool.input),
}));

function makeServer() {
  const server = new Server({ name: 'peer', version: '1.0.0' }, { capabilities: { tools: {} } });

  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));

  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const tool = tools[params.name];
    if (!tool) return failure('NOT_FOUND', `there is no tool ${params.name}`);
    const input = tool.input.safeParse(params.arguments ?? {});
    if (!input.success) {
      return failure('INVALID_PARAMS', 'invalid arguments', { issues: input.error.issues });
    }
    try {
      return envelope({ ok: true, data: tool.run(input.data) });
    } catch (error) {
      return failure('HANDLER_ERROR', error.message);
    }
  });
  return server;
}

if (process.argv[3] === '--http') {
  // As the SDK has it for servers that keep nothing between two requests: a server and a transport for each.
  const http = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const server = makeServer();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    response.on('close', () => {
      transport.close();
      server.close();
    });
    await server.connect(transport);
    await transport.handleRequest(request, response, JSON.parse(Buffer.concat(chunks).toString()));
  });
  http.listen(0, '127.0.0.1', () => console.error(`http://127.0.0.1:${http.address().port}/`));
} else {
  // The SDK waits for a full pipe once for each answer under way; that is no leak.
  process.stdout.setMaxListeners(0);
  process.stdin.on('end', () => db.close());
  await makeServer().connect(new StdioServerTransport());
}
