//! Full-text search over all conversations.
//!
//! What a person types is words, never the query language of the index: every term is quoted, and the last one
//! may be unfinished. The one rule it keeps: there is no query that fails.

use jackfield_api::host::{SearchHit, SearchHits};
use rusqlite::{Connection, params};

use crate::store::Store;
use crate::store::column::{seq, time};
use crate::store::error::{Fault, StoreError};
use crate::store::index;

impl Store {
    /// Items in which all words of the query are, the best first: what fits well, and of that the newer.
    pub async fn search(&self, query: &str, limit: u32) -> Result<SearchHits, StoreError> {
        let Some(expression) = expression(query) else { return Ok(SearchHits { hits: Vec::new() }) };
        let limit = limit.min(MOST) as usize;
        if self.read("search", |from| Ok(index::is_behind(from)?)).await? {
            // A store that takes nothing more is searched as it is.
            let _ = self.change(|to| Ok(index::take_in_all(to)?)).await;
        }
        self.read("search", move |from| search(from, &expression, limit)).await
    }
}

/// The query in the language of the index; none if there is nothing to look for.
fn expression(query: &str) -> Option<String> {
    let quoted = |term: &str| format!("\"{}\"", term.replace('"', "\"\"").replace('\0', " "));
    let terms = query.split_whitespace().filter(|term| term.contains(char::is_alphanumeric));
    let terms: Vec<String> = terms.take(TERMS).map(quoted).collect();
    (!terms.is_empty()).then(|| terms.join(" ") + "*")
}

struct Found {
    item: i64,
    /// As FTS5 has it: the smaller the better, never above 0.
    score: f64,
    hit: SearchHit,
}

fn search(from: &Connection, expression: &str, limit: usize) -> Result<SearchHits, Fault> {
    let mut found = from
        .prepare_cached(
            "WITH found AS MATERIALIZED (
                 SELECT rowid AS number, bm25(words) AS score FROM words WHERE words MATCH ?1 ORDER BY rank LIMIT ?2
             )
             SELECT item.number, score, session.id, session.title, item.seq, item.at, item.kind
             FROM found JOIN item USING (number) JOIN session ON session.number = item.session",
        )?
        .query_map(params![expression, CANDIDATES], |row| {
            let hit = SearchHit {
                session_id: row.get::<_, String>(2)?.into(),
                title: row.get(3)?,
                seq: seq(row.get(4)?),
                at: time(row.get(5)?),
                kind: row.get(6)?,
                excerpt: String::new(),
            };
            Ok(Found { item: row.get(0)?, score: row.get(1)?, hit })
        })?
        .collect::<Result<Vec<_>, _>>()?;
    let newest = found.iter().map(|found| found.hit.at.0).max().unwrap_or(0);
    for one in &mut found {
        #[expect(clippy::cast_precision_loss, reason = "an age in milliseconds need not be exact")]
        let months = (newest - one.hit.at.0) as f64 / MONTH;
        one.score *= 1.0 + 1.0 / (1.0 + months);
    }
    found.sort_by(|a, b| a.score.total_cmp(&b.score).then(b.hit.at.cmp(&a.hit.at)));
    found.truncate(limit);
    let mut excerpt = from.prepare_cached(
        "SELECT snippet(words, 0, char(2), char(3), '…', 24) FROM words WHERE words MATCH ?1 AND rowid = ?2",
    )?;
    for one in &mut found {
        one.hit.excerpt = excerpt.query_row(params![expression, one.item], |row| row.get(0))?;
    }
    Ok(SearchHits { hits: found.into_iter().map(|found| found.hit).collect() })
}

/// Milliseconds in a month; what is that old counts three quarters of what is new.
const MONTH: f64 = 30.0 * 24.0 * 3600.0 * 1000.0;

/// How many hits are weighed by their age.
const CANDIDATES: i64 = 500;

/// How many hits there are at most.
const MOST: u32 = 200;

/// How many words of a query count.
const TERMS: usize = 32;
