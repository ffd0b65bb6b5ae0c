import type { Phase } from './phase.js';

/** The input of the ring: levels are root mean squares, 0 to 1. */
export interface RingSource {
  phase: Phase;
  microphone: number;
  agent: number;
}

/** Number of ticks of the ring; each half shows the same. */
const TICKS = 96;
const HISTORY = TICKS / 2 + 1;
/** Lengths as shares of the canvas: the ring, a tick at rest, and the longest ticks of both sides. */
const RADIUS = 0.36;
const DOT = 0.006;
const OUTWARD = 0.125;
const INWARD = 0.085;
/** A step of the history, and the frame interval. */
const STEP_MS = 30;
/** The same for silence and reduced motion: then nothing moves around the ring. */
const CALM_STEP_MS = 120;
const LOWEST_DB = -52;
const RANGE_DB = 44;

/**
 * A ring of ticks around the button. The agent's audio points outward, the user's inward; both move from the top down.
 */
export class Ring {
  readonly #canvas: HTMLCanvasElement;
  readonly #source: () => RingSource;
  readonly #agent = new Float32Array(HISTORY);
  readonly #user = new Float32Array(HISTORY);
  readonly #calm = matchMedia('(prefers-reduced-motion: reduce)');
  #colours = { ink: '', accent: '' };
  #lastStepMs = 0;

  constructor(canvas: HTMLCanvasElement, source: () => RingSource) {
    this.#canvas = canvas;
    this.#source = source;
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.#readColours();
    });
    this.#readColours();
    requestAnimationFrame(this.#frame);
  }

  readonly #frame = (nowMs: number): void => {
    requestAnimationFrame(this.#frame);
    const source = this.#source();
    const stepMs = this.#calm.matches || source.phase === 'idle' ? CALM_STEP_MS : STEP_MS;
    if (nowMs - this.#lastStepMs < stepMs) return;
    this.#lastStepMs = nowMs;
    this.#step(source);
    this.#draw(source.phase, nowMs);
  };

  #step({ phase, microphone, agent }: RingSource): void {
    const idle = phase === 'idle' || phase === 'connecting';
    advance(this.#user, idle ? 0 : height(microphone), this.#calm.matches);
    // An interrupted answer stops and fades.
    if (phase === 'interrupted') for (let at = 0; at < HISTORY; at++) this.#agent[at]! *= 0.9;
    else advance(this.#agent, idle ? 0 : height(agent), this.#calm.matches);
  }

  #draw(phase: Phase, nowMs: number): void {
    const canvas = this.#canvas;
    const size = canvas.clientWidth;
    const density = Math.min(3, devicePixelRatio);
    if (canvas.width !== Math.round(size * density)) canvas.width = canvas.height = Math.round(size * density);
    const context = canvas.getContext('2d');
    if (context === null) return;
    context.setTransform(density, 0, 0, density, (size / 2) * density, (size / 2) * density);
    context.clearRect(-size / 2, -size / 2, size, size);
    context.lineCap = 'round';
    context.lineWidth = size / 150;
    const calm = this.#calm.matches;
    const radius = size * RADIUS;
    const dot = size * DOT;
    const rest = new Path2D();
    const outward = new Path2D();
    const inward = new Path2D();
    for (let tick = 0; tick < TICKS; tick++) {
      const age = Math.min(tick, TICKS - tick);
      const lift = Math.max(this.#agent[age] ?? 0, calm ? 0 : liftOf(phase, tick, age, nowMs)) * size * OUTWARD;
      const dip = (this.#user[age] ?? 0) * size * INWARD;
      if (lift > dot) addTick(outward, tick, radius, radius + lift);
      else addTick(rest, tick, radius, radius + dot);
      if (dip > dot) addTick(inward, tick, radius - 2 * dot, radius - 2 * dot - dip);
    }
    const { ink, accent } = this.#colours;
    stroke(context, rest, ink, phase === 'idle' && !calm ? 0.34 + 0.08 * Math.sin(nowMs / 1100) : 0.34);
    stroke(context, inward, ink, 0.62);
    stroke(context, outward, accent, 0.95);
  }

  #readColours(): void {
    const style = getComputedStyle(this.#canvas);
    this.#colours = { ink: style.getPropertyValue('--ink'), accent: style.getPropertyValue('--accent') };
  }
}

/** The phase's own height of a tick, 0 to 1. */
function liftOf(phase: Phase, tick: number, age: number, nowMs: number): number {
  if (phase === 'connecting') {
    const behind = ((((nowMs / 1400) * TICKS - tick) % TICKS) + TICKS) % TICKS;
    return 0.3 * Math.max(0, 1 - behind / (TICKS * 0.4)) ** 2;
  }
  if (phase === 'thinking') return 0.05 + 0.16 * Math.max(0, Math.sin(nowMs / 260 - age / 3.4)) ** 2;
  return 0;
}

function addTick(path: Path2D, tick: number, from: number, to: number): void {
  const angle = (tick / TICKS) * 2 * Math.PI - Math.PI / 2;
  const x = Math.cos(angle);
  const y = Math.sin(angle);
  path.moveTo(x * from, y * from);
  path.lineTo(x * to, y * to);
}

function stroke(context: CanvasRenderingContext2D, path: Path2D, colour: string, alpha: number): void {
  context.globalAlpha = alpha;
  context.strokeStyle = colour;
  context.stroke(path);
}

/** A level as a length, 0..1. */
function height(level: number): number {
  if (level <= 0) return 0;
  return Math.max(0, Math.min(1, (20 * Math.log10(level) - LOWEST_DB) / RANGE_DB)) ** 1.7;
}

/** Advances a history by one step; with reduced motion all of it slowly takes the new value. */
function advance(history: Float32Array, value: number, calm: boolean): void {
  const first = history[0] ?? 0;
  const smooth = first + (value - first) * (calm ? 0.35 : value > first ? 0.65 : 0.35);
  if (calm) {
    history.fill(smooth);
    return;
  }
  history.copyWithin(1, 0);
  history[0] = smooth;
}
