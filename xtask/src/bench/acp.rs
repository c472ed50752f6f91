//! `jackfield acp` beside other adapters: the same stand-in, the same turns, the same client, in turns.
//!
//! A benchmark, not a test: it prints the limits beside the figures and fails on none. The one rule it keeps: every
//! agent does one thing before any of them does the next, so that a bad minute is bad for all.

pub(crate) mod layout;

mod agents;
mod client;

use std::time::Duration;

use super::stream::Stream;
use super::{BenchError, median};
use agents::{Agent, FLOOR, OTHER, OURS, Place, REFERENCE};
use client::{Client, REST, SIP, Turn};

/// How long the slow client spins on each update.
const SPIN: Duration = Duration::from_micros(20);
/// Deltas in each turn of which only the first update counts.
const SMALL_DELTAS: u32 = 10;
const WARMING: usize = 20;
const LATENCY_TURNS: usize = 200;
/// The slow client takes seconds, and is looked at for memory only.
const SLOW_REPETITIONS: usize = 2;
/// How long a client crawls before it reads the rest.
const CRAWL: Duration = Duration::from_secs(5);

/// Builds the agents, measures, prints.
pub(super) fn run(stream: &Stream, deltas: u32, repetitions: usize) -> Result<(), BenchError> {
    let agents = agents::all()?;
    let place = Place::new()?;
    let repetitions = repetitions.max(1);
    println!("\n## ACP, {repetitions} repetitions, medians\n");
    throughput(&place, &agents, deltas, stream.lines(deltas)?, repetitions)?;
    slow_client(&place, &agents, deltas)?;
    crawling_client(&place, &agents, deltas)?;
    latency(&place, &agents, repetitions)
}

/// A turn and the peak of memory after it.
#[derive(Debug, Clone, Copy)]
struct Played {
    turn: Turn,
    peak: f64,
}

fn played(place: &Place, agent: &Agent, deltas: u32, spin: Duration) -> Result<Played, BenchError> {
    let (mut client, _) = Client::start(place.command(agent, deltas)?)?;
    client.session(&place.workspace())?;
    let turn = client.turn(spin)?;
    Ok(Played { turn, peak: client.peak()? })
}

/// Each agent in turn, again and again, after one round that only warms the caches.
fn rounds<T>(
    agents: &[Agent],
    repetitions: usize,
    mut each: impl FnMut(&Agent) -> Result<T, BenchError>,
) -> Result<Vec<Vec<T>>, BenchError> {
    let mut figures: Vec<Vec<T>> = agents.iter().map(|_| Vec::new()).collect();
    for round in 0..=repetitions {
        for (agent, figures) in agents.iter().zip(&mut figures) {
            let figure = each(agent)?;
            if round > 0 {
                figures.push(figure);
            }
        }
    }
    Ok(figures)
}

fn throughput(
    place: &Place,
    agents: &[Agent],
    deltas: u32,
    lines: u32,
    repetitions: usize,
) -> Result<(), BenchError> {
    let rounds = rounds(agents, repetitions, |agent| played(place, agent, deltas, Duration::ZERO))?;
    let cpu = |played: &[Played]| {
        median(played.iter().map(|played| played.turn.cpu.as_secs_f64())) * 100_000.0 / f64::from(lines)
    };
    let ours = cpu(&rounds[OURS]);
    println!("From prompt to answer, {lines} lines of the CLI:\n");
    println!("| agent | CPU s / 100k lines | to ours | wall s | peak RSS MB | updates |");
    println!("|---|---|---|---|---|---|");
    for (agent, played) in agents.iter().zip(&rounds) {
        let wall = median(played.iter().map(|played| played.turn.wall.as_secs_f64()));
        let peak = median(played.iter().map(|played| played.peak)) / 1024.0;
        let updates = played.iter().map(|played| played.turn.updates).min().unwrap_or(0);
        let cpu = cpu(played);
        println!("| {} | {cpu:.3} | {:.2} × | {wall:.3} | {peak:.1} | {updates} |", agent.name, cpu / ours);
    }
    println!(
        "\nOurs takes 1/{:.1} of the reference adapter's CPU (limit 1/10) and 1/{:.1} of `claude-code-acp-rs`' (limit 1/20).",
        cpu(&rounds[REFERENCE]) / ours,
        cpu(&rounds[OTHER]) / ours
    );
    Ok(())
}

fn slow_client(place: &Place, agents: &[Agent], deltas: u32) -> Result<(), BenchError> {
    let rounds = rounds(agents, SLOW_REPETITIONS, |agent| played(place, agent, deltas, SPIN))?;
    println!(
        "\nA client that takes {} µs for each update, the highest of {SLOW_REPETITIONS} (limit 15 MB):\n",
        SPIN.as_micros()
    );
    println!("| agent | peak RSS MB | updates |");
    println!("|---|---|---|");
    for (agent, played) in agents.iter().zip(&rounds) {
        let peak = played.iter().map(|played| played.peak).fold(0.0, f64::max) / 1024.0;
        let updates = played.iter().map(|played| played.turn.updates).min().unwrap_or(0);
        println!("| {} | {peak:.1} | {updates} |", agent.name);
    }
    Ok(())
}

fn crawling_client(place: &Place, agents: &[Agent], deltas: u32) -> Result<(), BenchError> {
    println!(
        "\nA client that reads {SIP} bytes every {} ms for {} s, and then the rest:\n",
        REST.as_millis(),
        CRAWL.as_secs()
    );
    println!("| agent | own memory MB | peak RSS MB |");
    println!("|---|---|---|");
    for agent in agents {
        let (mut client, _) = Client::start(place.command(agent, deltas)?)?;
        client.session(&place.workspace())?;
        let own = client.crawl(CRAWL)? / 1024.0;
        println!("| {} | {own:.1} | {:.1} |", agent.name, client.peak()? / 1024.0);
    }
    Ok(())
}

/// What one agent makes its user wait for, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    initialize: f64,
    p50: f64,
    p99: f64,
}

fn waiting(place: &Place, agent: &Agent) -> Result<Waiting, BenchError> {
    let (mut client, initialize) = Client::start(place.command(agent, SMALL_DELTAS)?)?;
    client.session(&place.workspace())?;
    let mut firsts = Vec::new();
    for number in 0..WARMING + LATENCY_TURNS {
        let turn = client.turn(Duration::ZERO)?;
        if number >= WARMING {
            firsts.push(turn.first.as_secs_f64() * 1e6);
        }
    }
    firsts.sort_by(f64::total_cmp);
    let at = |part: usize| firsts.get(firsts.len() * part / 100).copied().unwrap_or(f64::NAN);
    Ok(Waiting { initialize: initialize.as_secs_f64() * 1e6, p50: at(50), p99: at(99) })
}

fn latency(place: &Place, agents: &[Agent], repetitions: usize) -> Result<(), BenchError> {
    let rounds = rounds(agents, repetitions, |agent| waiting(place, agent))?;
    let of = |place: usize, figure: fn(&Waiting) -> f64| median(rounds[place].iter().map(figure));
    println!("\nSpawn to answered `initialize`, and a warm prompt to its first update:\n");
    println!("| agent | initialize µs | to the reference's | p50 µs | p99 µs | p50 to the floor |");
    println!("|---|---|---|---|---|---|");
    for (number, agent) in agents.iter().enumerate() {
        let (initialize, p50) = (of(number, |of| of.initialize), of(number, |of| of.p50));
        println!(
            "| {} | {initialize:.0} | 1/{:.1} | {p50:.0} | {:.0} | {:.2} × |",
            agent.name,
            of(REFERENCE, |of| of.initialize) / initialize,
            of(number, |of| of.p99),
            p50 / of(FLOOR, |of| of.p50),
        );
    }
    println!(
        "\nThe limits: `initialize` in 1/10 of the reference's time, the first update in 6 times the floor's."
    );
    Ok(())
}

fn file(doing: &'static str) -> impl FnOnce(std::io::Error) -> BenchError {
    move |source| BenchError::File { doing: doing.to_owned(), source }
}
