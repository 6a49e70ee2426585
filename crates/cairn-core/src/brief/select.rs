//! Spending a budget.

use super::BudgetTooSmall;
use super::candidate::Candidate;
use super::tokens::Counter;

/// What the budget has room for.
pub struct Choice {
    /// Which candidates are in, by their index.
    pub chosen: Vec<bool>,
    /// Those that are not, the next one first: index and tokens.
    pub omitted: Vec<(usize, u64)>,
}

/// Takes the longest beginning of the order of choice that fits, so that a larger budget never shows less.
///
/// `fixed` is the weight of headings and empty lines, `left_out` that of the line which tells how many items are
/// missing.
pub fn choose(
    candidates: &[Candidate],
    budget: Option<u64>,
    counter: Counter,
    fixed: u64,
    left_out: impl Fn(usize) -> u64,
) -> Result<Choice, BudgetTooSmall> {
    let Some(budget) = budget else {
        return Ok(Choice { chosen: vec![true; candidates.len()], omitted: Vec::new() });
    };
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|index| candidates[*index].key);
    let weights: Vec<u64> = candidates
        .iter()
        .map(|candidate| counter.weight(&candidate.item.text) + counter.weight("\n"))
        .collect();
    let required = candidates.iter().filter(|candidate| candidate.key.is_required()).count();

    let mut longest = None;
    let mut smallest = u64::MAX;
    let mut weight = fixed;
    for taken in 0..=order.len() {
        if taken > 0 {
            weight += weights[order[taken - 1]];
        }
        if taken >= required {
            let missing = order.len() - taken;
            let tokens = counter.tokens(weight + if missing > 0 { left_out(missing) } else { 0 });
            smallest = smallest.min(tokens);
            if tokens <= budget {
                longest = Some(taken);
            }
        }
    }
    let Some(taken) = longest else {
        let item = does_not_fit(&order[..required], candidates, &weights, fixed, counter, budget);
        return Err(BudgetTooSmall { budget, item, needed: smallest });
    };
    let mut chosen = vec![false; candidates.len()];
    order[..taken].iter().for_each(|index| chosen[*index] = true);
    let omitted = order[taken..].iter().map(|index| (*index, counter.tokens(weights[*index]))).collect();
    Ok(Choice { chosen, omitted })
}

/// The first required part that goes beyond the budget.
fn does_not_fit(
    required: &[usize],
    candidates: &[Candidate],
    weights: &[u64],
    fixed: u64,
    counter: Counter,
    budget: u64,
) -> String {
    if counter.tokens(fixed) > budget {
        return "the headings".to_string();
    }
    let mut weight = fixed;
    for index in required {
        weight += weights[*index];
        if counter.tokens(weight) > budget {
            return candidates[*index].name.clone();
        }
    }
    "the line that says what is left out".to_string()
}
