//! `jackfield acp` as editors meet it: driven by clients that nobody here wrote, beside the reference adapter.

mod acpx;
mod client;
mod complaints;
mod differences;
mod killed;
mod languages;
mod login;
mod normal;
mod play;
mod promises;
mod record;
mod scenario;
mod schema;
mod stage;
mod together;
