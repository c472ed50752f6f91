//! The host's own: its rules, and small settings by name.

use jackfield_api::host::HostRules;
use rusqlite::{Connection, OptionalExtension};

use crate::store::Store;
use crate::store::column::json;
use crate::store::error::StoreError;

impl Store {
    /// The rules of the host.
    pub async fn rules(&self) -> Result<HostRules, StoreError> {
        let work = |from: &Connection| {
            let rules: String = from.query_row("SELECT rules FROM host", [], |row| row.get(0))?;
            Ok(serde_json::from_str(&rules)
                .map_err(|source| StoreError::Convert { what: "rules", source })?)
        };
        self.read("read the rules", work).await
    }

    /// Sets the rules of the host.
    pub async fn set_rules(&self, rules: &HostRules) -> Result<(), StoreError> {
        let rules = json("rules", rules)?;
        self.change(move |to| Ok(to.execute("UPDATE host SET rules = ?1", [rules]).map(drop)?)).await
    }

    /// A setting.
    pub async fn value(&self, key: &str) -> Result<Option<String>, StoreError> {
        let key = key.to_owned();
        let work = move |from: &Connection| {
            let value = from
                .prepare_cached("SELECT value FROM setting WHERE key = ?1")?
                .query_row([key], |row| row.get(0))
                .optional()?;
            Ok(value)
        };
        self.read("read a setting", work).await
    }

    /// All settings whose names begin so, by name.
    pub async fn values(&self, prefix: &'static str) -> Result<Vec<(String, String)>, StoreError> {
        let work = move |from: &Connection| {
            let found = from
                .prepare_cached(
                    "SELECT key, value FROM setting WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key",
                )?
                .query_map([prefix], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<Result<_, _>>()?;
            Ok(found)
        };
        self.read("read settings", work).await
    }

    /// Removes a setting; nothing happens if it is not there.
    pub async fn remove_value(&self, key: &str) -> Result<(), StoreError> {
        let key = key.to_owned();
        let work = move |from: &Connection| {
            from.prepare_cached("DELETE FROM setting WHERE key = ?1")?.execute([key])?;
            Ok(())
        };
        self.change(work).await
    }

    /// Makes a setting.
    pub async fn set_value(&self, key: &str, value: &str) -> Result<(), StoreError> {
        let row = [key.to_owned(), value.to_owned()];
        let work = move |to: &Connection| {
            to.prepare_cached("INSERT OR REPLACE INTO setting (key, value) VALUES (?1, ?2)")?.execute(row)?;
            Ok(())
        };
        self.change(work).await
    }
}
