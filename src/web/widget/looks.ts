import type { Phase } from '../page/phase.js';

/** The state of a call on the button. */
export type Display = 'idle' | 'connecting' | 'running';

/** An agent's widget settings, from `GET /agents/{id}/embed`; null = the widget's default. */
export interface Looks {
  titles: Readonly<Record<Display, string | null>>;
  /** Addresses of images, or Iconify names. */
  icons: Readonly<Record<Display, string | null>>;
  /** CSS of the button. */
  background: string | null;
  buttonCss: string | null;
  /** Size of the button, in CSS pixels. */
  size: number | null;
  /** CSS of the forms. */
  formCss: string | null;
  transcript: boolean | null;
  /** The agent's name in the transcript. */
  name: string | null;
  /** Address of the gateway for calls. */
  base_url: string | null;
}

const NOTHING = { idle: null, connecting: null, running: null };

export const DEFAULT_LOOKS: Looks = {
  titles: NOTHING,
  icons: NOTHING,
  background: null,
  buttonCss: null,
  formCss: null,
  size: null,
  transcript: null,
  name: null,
  base_url: null,
};

const TITLES: Readonly<Record<Display, string>> = {
  idle: 'Talk to us',
  connecting: 'Connecting …',
  running: 'Hang up',
};
const STATES: Readonly<Record<Display, string>> = {
  idle: 'Start a voice call',
  connecting: 'Connecting, press to cancel',
  running: 'On the line, press to hang up',
};

/**
 * Address of an image, null = none.
 * @param icon an address, or a name of the Iconify collections, `prefix:name`, which their public API serves
 */
export function pictureAddress(icon: string | null): string | null {
  const [, prefix, name] = /^([a-z0-9]+(?:-[a-z0-9]+)*):([a-z0-9]+(?:-[a-z0-9]+)*)$/.exec(icon ?? '') ?? [];
  if (prefix !== undefined && name !== undefined) return `https://api.iconify.design/${prefix}/${name}.svg`;
  return icon === '' ? null : icon;
}

export function displayOf(phase: Phase): Display {
  return phase === 'idle' || phase === 'connecting' ? phase : 'running';
}

/** The button's text; empty = only its image. */
export function buttonTitle({ titles }: Pick<Looks, 'titles'>, display: Display): string {
  return (titles[display] ?? TITLES[display]).trim();
}

/** The button's accessible name: its text, the state, and the action. */
export function buttonName(title: string, display: Display): string {
  return title === '' ? STATES[display] : `${title}. ${STATES[display]}`;
}

/** A readable text colour for a background, `#rrggbb`. */
export function inkOn(background: string): '#ffffff' | '#1a1a1a' {
  const value = Number.parseInt(/^#([\da-f]{6})$/i.exec(background)?.[1] ?? '0', 16);
  // Perceived brightness (ITU-R BT.601), 0 to 255.
  const brightness = 0.299 * (value >> 16) + 0.587 * ((value >> 8) & 255) + 0.114 * (value & 255);
  return brightness > 150 ? '#1a1a1a' : '#ffffff';
}
