// How long blocks live, if some are still alive when the trace ends: Kaplan and Meier's estimate, with its variance
// (crates/analysis/src/statistics/survival.rs).

import { greatestOf, Histogram, leastOf, proportionAt, type Step, type Unit } from "./histogram";

/** Lifetimes of sampled blocks, in microseconds. */
export interface Survival {
  died: Histogram;
  watched: Histogram;
}

/** What its blocks are best counted in: what reallocations add has bytes, but no objects. */
export function unitOf({ died, watched }: Survival): Unit {
  return died.isEmpty("objects") && watched.isEmpty("objects") ? "bytes" : "objects";
}

/** The estimated distribution of lifetimes. */
export function curve(survival: Survival, unit: Unit): Step[] {
  const exits = exitsOf(survival, unit);
  const risk = new Risk(exits);
  return exits.map((exit) => risk.pass(exit));
}

/** Those who leave at one age. */
interface Exit {
  least: number;
  greatest: number;
  died: number;
  diedSquares: number;
  watched: number;
  watchedSquares: number;
}

/** Deaths and ends of watching side by side, in order. */
function exitsOf({ died, watched }: Survival, unit: Unit): Exit[] {
  const bins = [...new Set([...died.bins(), ...watched.bins()])].sort((a, b) => a - b);
  return bins.map((bin) => ({
    least: Math.min(greatestOf(bin), died.least[bin]!, watched.least[bin]!),
    greatest: Math.max(leastOf(bin), died.greatest[bin]!, watched.greatest[bin]!),
    died: died.weightOf(unit, bin),
    diedSquares: died.squaresOf(unit, bin),
    watched: watched.weightOf(unit, bin),
    watchedSquares: watched.squaresOf(unit, bin),
  }));
}

/** Who is left, while one goes along the exits. */
class Risk {
  /** Weights and their squares of those who have not left. */
  private weight = 0;
  private squares = 0;
  private survival = 1;
  /** How `-ln S` grows with the weight of one who outlived all exits so far. */
  private outlived = 0;
  /** Sum of `(weight * influence)^2` over those who left. */
  private left = 0;
  /** What the last share between 0 and 1 rested on. */
  private samples: number;

  constructor(exits: Exit[]) {
    for (const exit of exits) {
      this.weight += exit.died + exit.watched;
      this.squares += exit.diedSquares + exit.watchedSquares;
    }
    this.samples = (this.weight * this.weight) / this.squares;
  }

  pass(exit: Exit): Step {
    const before = 1 - this.survival;
    const exposed = Math.max(this.weight - exit.watched / 2, exit.died);
    if (exit.died > 0) this.die(exit, exposed);
    else this.leave(exit.watchedSquares, this.outlived);
    if (this.survival === 1) this.samples = (this.weight * this.weight) / this.squares;
    this.weight = Math.max(0, this.weight - exit.died - exit.watched);
    this.squares = Math.max(0, this.squares - exit.diedSquares - exit.watchedSquares);
    return this.step(exit, before);
  }

  private die(exit: Exit, exposed: number): void {
    const outliving = exposed - exit.died;
    // The last of those that were watched, but for rounding.
    if (outliving <= exposed * 1e-9) {
      this.survival = 0;
      return;
    }
    this.survival *= outliving / exposed;
    const grows = exit.died / (exposed * outliving);
    this.leave(exit.diedSquares, this.outlived + grows - 1 / outliving);
    this.leave(exit.watchedSquares, this.outlived + grows / 2);
    this.outlived += grows;
  }

  private leave(squares: number, influence: number): void {
    this.left += squares * influence * influence;
  }

  private step(exit: Exit, before: number): Step {
    const logVariance = this.left + this.squares * this.outlived * this.outlived;
    const variance = this.survival * this.survival * logVariance;
    const { least, greatest } = exit;
    const step = { least, greatest, before, share: 1 - this.survival, variance, samples: this.samples };
    if (this.survival > 0 && this.survival < 1) this.samples = proportionAt(step).effectiveSamples;
    return step;
  }
}
