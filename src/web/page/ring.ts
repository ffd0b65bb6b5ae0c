import type { Phase } from './phase.js';

/** What the ring shows: levels are root mean squares, 0..1. */
export interface RingSource {
  phase: Phase;
  microphone: number;
  agent: number;
}

/** Ticks round the whole ring; each half shows the same. */
const TICKS = 96;
const HISTORY = TICKS / 2 + 1;
/** One step of the history. */
const STEP_MS = 30;
/** With reduced motion the ring changes this seldom, and nothing travels round it. */
const CALM_STEP_MS = 160;
const LOWEST_DB = -52;
const RANGE_DB = 44;

/**
 * A ring of ticks round the button. The agent's voice reaches outward, the user's inward; both run from the top down
 * as they were said.
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
    const source = this.#source();
    const stepMs = this.#calm.matches ? CALM_STEP_MS : STEP_MS;
    if (nowMs - this.#lastStepMs >= stepMs) {
      this.#lastStepMs = nowMs;
      this.#step(source);
    }
    this.#draw(source.phase, nowMs);
    requestAnimationFrame(this.#frame);
  };

  #step({ phase, microphone, agent }: RingSource): void {
    const idle = phase === 'idle' || phase === 'connecting';
    advance(this.#user, idle ? 0 : height(microphone), this.#calm.matches);
    // What was interrupted stands still and fades.
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
    const radius = size * 0.36;
    for (let tick = 0; tick < TICKS; tick++) {
      const age = Math.min(tick, TICKS - tick);
      const angle = (tick / TICKS) * 2 * Math.PI - Math.PI / 2;
      const { glow, lift } = this.#calm.matches ? { glow: REST, lift: 0 } : motion(phase, tick, age, nowMs);
      const outward = Math.max(this.#agent[age] ?? 0, lift) * size * 0.125;
      const inward = (this.#user[age] ?? 0) * size * 0.085;
      const rest = size * 0.006;
      this.#tick(context, angle, radius, radius + rest, this.#colours.ink, glow);
      if (outward > rest) this.#tick(context, angle, radius, radius + outward, this.#colours.accent, 0.95);
      if (inward > rest)
        this.#tick(context, angle, radius - size * 0.014, radius - size * 0.014 - inward, this.#colours.ink, 0.62);
    }
  }

  #tick(
    context: CanvasRenderingContext2D,
    angle: number,
    from: number,
    to: number,
    colour: string,
    alpha: number,
  ): void {
    const x = Math.cos(angle);
    const y = Math.sin(angle);
    context.globalAlpha = alpha;
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(x * from, y * from);
    context.lineTo(x * to, y * to);
    context.stroke();
  }

  #readColours(): void {
    const style = getComputedStyle(this.#canvas);
    this.#colours = { ink: style.getPropertyValue('--ink'), accent: style.getPropertyValue('--accent') };
  }
}

/** How visible a tick is when nothing happens. */
const REST = 0.28;

/** What a phase does to a tick by itself: how visible it is, and how far it reaches outward, 0..1. */
function motion(phase: Phase, tick: number, age: number, nowMs: number): { glow: number; lift: number } {
  if (phase === 'connecting') {
    const behind = ((((nowMs / 1400) * TICKS - tick) % TICKS) + TICKS) % TICKS;
    return { glow: REST, lift: 0.3 * Math.max(0, 1 - behind / (TICKS * 0.4)) ** 2 };
  }
  if (phase === 'thinking') {
    const wave = Math.sin(nowMs / 260 - age / 3.4);
    return { glow: REST, lift: 0.05 + 0.16 * Math.max(0, wave) ** 2 };
  }
  const breath = phase === 'idle' ? 0.1 * Math.sin(nowMs / 1300 - age / 9) : 0.1;
  return { glow: REST + breath, lift: 0 };
}

/** A level as a length, 0..1. */
function height(level: number): number {
  if (level <= 0) return 0;
  return Math.max(0, Math.min(1, (20 * Math.log10(level) - LOWEST_DB) / RANGE_DB)) ** 1.7;
}

/** Moves a history on by one step; with reduced motion the whole of it takes the new value slowly. */
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
