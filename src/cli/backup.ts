import { nowUnixMs } from '../base/real-clock.js';
import { loadSettings } from '../settings/load-settings.js';
import { backUp } from '../store/backup/backup.js';
import { defineCommand, type FlagOptions, UsageError } from './shared/command.js';

const OPTIONS = {
  recordings: { type: 'boolean', default: false },
  'without-keys': { type: 'boolean', default: false },
  'data-dir': { type: 'string' },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

export const backup = defineCommand({
  help: `
parley backup FILE [--recordings] [--without-keys] [--data-dir DIR] [--json]

Writes everything that the daemon keeps into one file (a tar archive), also while it runs: databases as they are at one
moment, checked. The file holds the keys that encrypt stored secrets, so it is as secret as the data folder.

  --recordings    with the recordings; otherwise with their list only
  --without-keys  without secret.key and signing.key: stored secrets and links are then worth nothing elsewhere
  --data-dir DIR  where the daemon keeps its data
  --json          what was written, as JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [to, ...more] = positionals;
    if (to === undefined || more.length > 0) throw new UsageError('which file is to be written?');
    const { settings } = await loadSettings({ env: io.env, flags: { 'data-dir': values['data-dir'] } });
    const manifest = await backUp({
      dataDir: settings.dataDir,
      to,
      recordings: values.recordings,
      keys: !values['without-keys'],
      unixMs: nowUnixMs(),
    });
    if (values.json) {
      io.stdout.write(`${JSON.stringify(manifest)}\n`);
      return 0;
    }
    for (const { name, bytes } of manifest.files) io.stdout.write(`${name}  ${String(bytes)} bytes\n`);
    const { length } = manifest.recordings;
    if (length > 0 && !values.recordings) io.stderr.write(`${String(length)} recordings are listed, not copied\n`);
    return 0;
  },
});
