//! What was spent, by day, day and model, model, session or turn.

use jackfield_api::host::{CostRow, Costs};
use jackfield_api::{SessionId, Timestamp};
use rusqlite::{Connection, params};

use crate::store::Store;
use crate::store::column::{integer, number};
use crate::store::error::{Fault, StoreError};

/// By what costs are grouped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CostBy {
    /// By day (UTC), the newest first.
    Day,
    /// By day (UTC) and model, the newest first.
    DayModel,
    /// By model, the dearest first.
    Model,
    /// By session, the dearest first.
    Session,
    /// By turn of one session, the newest first.
    Turn(SessionId),
}

impl Store {
    /// What the turns that ended at `since` or later have cost.
    pub async fn costs(&self, by: CostBy, since: Option<Timestamp>) -> Result<Costs, StoreError> {
        self.read("add up the costs", move |from| costs(from, &by, since)).await
    }
}

fn costs(from: &Connection, by: &CostBy, since: Option<Timestamp>) -> Result<Costs, Fault> {
    let day = "strftime('%Y-%m-%d', at / 1000, 'unixepoch')";
    let (group, part, order, session) = match by {
        CostBy::Day => (day, "NULL", "1 DESC", None),
        CostBy::DayModel => (day, "coalesce(model, '')", "1 DESC, cost DESC, 9", None),
        CostBy::Model => ("coalesce(model, '')", "NULL", "cost DESC, 1", None),
        CostBy::Session => ("session.id", "NULL", "cost DESC, 1", None),
        CostBy::Turn(session) => ("coalesce(turn, '')", "NULL", "max(seq) DESC", Some(session.as_str())),
    };
    let sql = format!(
        "SELECT CAST({group} AS TEXT), count(*), sum(cost_usd) AS cost, sum(input_tokens), sum(output_tokens),
                sum(cache_read_tokens), sum(cache_creation_tokens), sum(duration_ms), {part}
         FROM turn JOIN session ON session.number = turn.session
         WHERE at >= ?1 AND (?2 IS NULL OR session.id = ?2) GROUP BY 1, 9 ORDER BY {order}"
    );
    let since = since.map_or(0, |since| integer(since.0));
    let rows = from
        .prepare_cached(&sql)?
        .query_map(params![since, session], |row| {
            Ok(CostRow {
                group: row.get(0)?,
                model: row.get(8)?,
                turns: number(row.get(1)?),
                cost_usd: row.get(2)?,
                input_tokens: number(row.get(3)?),
                output_tokens: number(row.get(4)?),
                cache_read_tokens: number(row.get(5)?),
                cache_creation_tokens: number(row.get(6)?),
                duration_ms: number(row.get(7)?),
            })
        })?
        .collect::<Result<Vec<_>, _>>()?;
    let total = rows.iter().fold(CostRow::default(), |total, row| CostRow {
        group: total.group,
        model: None,
        turns: total.turns + row.turns,
        cost_usd: total.cost_usd + row.cost_usd,
        input_tokens: total.input_tokens + row.input_tokens,
        output_tokens: total.output_tokens + row.output_tokens,
        cache_read_tokens: total.cache_read_tokens + row.cache_read_tokens,
        cache_creation_tokens: total.cache_creation_tokens + row.cache_creation_tokens,
        duration_ms: total.duration_ms + row.duration_ms,
    });
    Ok(Costs { rows, total })
}
