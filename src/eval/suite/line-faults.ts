import type { Location, ValidationIssue } from '../../schema/issues.js';
import type { LineConditions } from './suite-schema.js';

type Codec = NonNullable<LineConditions['codec']>;
type Impairing = 'loss' | 'delay_ms' | 'jitter_ms' | 'buffer_ms';

/** What each transport can carry and have done to it. */
const TRANSPORTS: Readonly<
  Record<NonNullable<LineConditions['transport']>, { codecs: readonly Codec[]; impaired: readonly Impairing[] }>
> = {
  simulated: {
    codecs: ['mulaw', 'alaw', 'g722', 'opus', 'pcm'],
    impaired: ['loss', 'delay_ms', 'jitter_ms', 'buffer_ms'],
  },
  rtp: { codecs: ['mulaw', 'alaw', 'g722', 'opus'], impaired: ['loss', 'delay_ms', 'jitter_ms'] },
  webrtc: { codecs: ['opus'], impaired: [] },
  'talk-socket': { codecs: ['pcm'], impaired: [] },
};

/**
 * Settings that a case's transport cannot have.
 * @param own the case's line
 * @param defaults the suite's line
 * @param loc of the case
 */
export function lineFaults(
  own: LineConditions = {},
  defaults: LineConditions = {},
  loc: Location = [],
): ValidationIssue[] {
  const line = { ...defaults, ...own };
  const { transport = 'simulated', codec } = line;
  const { codecs, impaired } = TRANSPORTS[transport];
  const fault = (name: keyof LineConditions, why: string): ValidationIssue => {
    const place = Object.hasOwn(own, name) ? [...loc, 'line', name] : ['defaults', 'line', name];
    return { loc: place, msg: `The transport ${transport} ${why}`, type: 'value_error' };
  };
  const issues = (['loss', 'delay_ms', 'jitter_ms', 'buffer_ms'] as const)
    .filter((name) => line[name] !== undefined && line[name] !== 0 && !impaired.includes(name))
    .map((name) => fault(name, `has no ${name}`));
  if (codec === undefined || codecs.includes(codec)) return issues;
  return [...issues, fault('codec', `carries ${codecs.join(', ')} and not ${codec}`)];
}
