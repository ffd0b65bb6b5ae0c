import { expect, it } from 'vitest';
import { remedyOf } from '../../../src/cli/providers/providers.js';
import { ParleyError } from '../../../src/base/errors.js';
import { failed, refused, statusError } from '../../../src/providers/wire/vendor-error.js';

it.each([
  [statusError('rime', 403, 'no'), 'the vendor rejects the key: check RIME_API_KEY'],
  [refused('rime', 'it rejects the API key'), 'check RIME_API_KEY'],
  [statusError('rime', 402, 'no'), 'no credit'],
  [statusError('rime', 404, 'no'), 'check --model and --voice, and RIME_BASE_URL'],
  [statusError('rime', 429, 'no'), 'too many requests'],
  [statusError('rime', 502, 'no'), "the vendor's server failed"],
  [failed('rime', 'getaddrinfo EAI_AGAIN users.rime.ai'), 'check the network and RIME_BASE_URL'],
  [failed('rime', 'connect ENETUNREACH 1.2.3.4:443'), 'the firewall'],
  [failed('rime', 'unable to verify the first certificate'), 'NODE_EXTRA_CA_CERTS'],
  [new ParleyError('PROVIDER_TIMEOUT', { provider: 'rime', timeoutMs: 8000 }), 'did not answer in time'],
])('%s: %s', (error, remedy) => {
  expect(remedyOf(error, 'rime')).toContain(remedy);
});

it('is none where the error says it all, and without a name where no variable has it', () => {
  expect(remedyOf(failed('rime', 'it sent no audio'), 'rime')).toBeNull();
  expect(remedyOf(statusError('openai', 401, 'no'), null)).toBe(
    "the vendor rejects the key: check the model's key in the settings",
  );
});
