import { describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/settings/settings.js';
import type { Log } from '../../../src/daemon/operations/log.js';
import { weakKey } from '../../../src/daemon/http/access.js';
import { House } from '../house.js';

const judged = (settings: Partial<Settings>) => weakKey({ ...DEFAULT_SETTINGS, dataDir: '/nowhere', ...settings });

describe('a private key that can be guessed', () => {
  it.each(['a', 'secret', '123456789012345', 'aaaaaaaaaaaaaaaaaaaaaaaa', 'abababababababababab'])('%s', (apiKey) => {
    expect(judged({ apiKey }).fault).toContain('PARLEY_API_KEY');
  });

  it.each([null, 'sk_8f2Kq0ZrT4yWmA1b', '5cNf1Qm0dVwq3rHj0u3fH9yq2Pz7bK4t'])('is not %s', (apiKey) => {
    expect(judged({ apiKey }).fault).toBeNull();
  });

  it('is exposed where others can reach the daemon', () => {
    expect(judged({}).isExposed).toBe(false);
    expect(judged({ host: '::1' }).isExposed).toBe(false);
    expect(judged({ host: '0.0.0.0' }).isExposed).toBe(true);
    expect(judged({ publicUrl: 'https://calls.example.com' }).isExposed).toBe(true);
    expect(judged({ trustedProxies: ['127.0.0.1'] }).isExposed).toBe(true);
  });

  it('keeps a daemon from starting that others can reach, and causes a warning on loopback', async () => {
    const refused = House.open({ apiKey: 'a', host: '0.0.0.0' });
    await expect(refused).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: /can be guessed/ });
    const lines: string[] = [];
    const log: Log = { write: (level, text) => void lines.push(`${level} ${text}`) };
    const house = await House.open({ apiKey: 'a' }, undefined, log);
    await house.close();
    expect(lines).toContainEqual(expect.stringMatching(/^warn apiKey \(PARLEY_API_KEY\) can be guessed/));
  });
});
