import type { ParleyError } from '../base/errors.js';
import { similar } from '../base/similar.js';
import { modelRemedy } from './models.js';

/**
 * What to do about an unknown agent, model, voice or provider: the known name that may be meant, or how to get the model. It
 * follows the error's message; empty = there is nothing to suggest.
 */
export function suggestionFor({ code, details }: ParleyError): string {
  const { name = details['voice'] ?? details['which'] ?? details['id'], known } = details;
  const found = typeof name === 'string' && typeof known === 'string' ? similar(name, known.split(', ')) : null;
  if (found !== null) return `. Did you mean ${found}?`;
  return code === 'PROVIDER_UNKNOWN' && details['kind'] === 'language model' ? `; ${modelRemedy(String(name))}` : '';
}
