// The host's program, for what only it can say. Tests build it first (`cargo build -p jackfield`); its place can
// be given in JACKFIELD.
import { existsSync } from "node:fs";

/** The program's path; an error says how to get it. */
export function program(): string {
  const given = process.env.JACKFIELD;
  const places = given ? [given] : ["debug", "release"].map((kind) => `../target/${kind}/jackfield`);
  const found = places.map((place) => new URL(place, new URL("..", import.meta.url)).pathname).find(existsSync);
  if (found === undefined) throw new Error("no jackfield: run `cargo build -p jackfield`, or name it in JACKFIELD");
  return found;
}
