import { ParleyError } from '../../errors.js';
import { EmbeddedStt } from './embedded/provider.js';
import type { SttProvider } from './stt.js';

const PROVIDERS: Readonly<Record<string, () => SttProvider>> = {
  embedded: () => new EmbeddedStt(),
};

/** The names that `sttProvider` takes. */
export const STT_PROVIDERS: readonly string[] = Object.keys(PROVIDERS);

/**
 * A new provider with its defaults; the caller closes it.
 * @throws ParleyError PROVIDER_UNKNOWN
 */
export function sttProvider(name: string): SttProvider {
  const make = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
  if (make !== undefined) return make();
  throw new ParleyError('PROVIDER_UNKNOWN', { kind: 'speech-to-text', name, known: STT_PROVIDERS.join(', ') });
}
