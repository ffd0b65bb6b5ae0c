import { nowUnixMs } from '../base/real-clock.js';
import { loadSettings } from '../settings/load-settings.js';
import { restore as restoreBackup } from '../store/backup/restore.js';
import { defineCommand, type FlagOptions, UsageError } from './shared/command.js';

const OPTIONS = { 'data-dir': { type: 'string' }, json: { type: 'boolean', default: false } } satisfies FlagOptions;

export const restore = defineCommand({
  help: `
parley restore FILE [--data-dir DIR] [--json]

Puts a file of \`parley backup\` in the place of what the daemon keeps. The daemon must not run. What was there before is
kept in a folder beside it, and campaigns that were calling are paused: start them again once you have looked at them.

  --data-dir DIR  where the daemon keeps its data
  --json          what was done, as JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [from, ...more] = positionals;
    if (from === undefined || more.length > 0) throw new UsageError('which file is to be restored?');
    const { settings } = await loadSettings({ env: io.env, flags: { 'data-dir': values['data-dir'] } });
    const { manifest, keptAside, pausedCampaigns } = await restoreBackup({
      dataDir: settings.dataDir,
      from,
      unixMs: nowUnixMs(),
    });
    if (values.json) {
      io.stdout.write(`${JSON.stringify({ manifest, kept_aside: keptAside, paused_campaigns: pausedCampaigns })}\n`);
      return 0;
    }
    const made = new Date(manifest.created_at * 1000).toISOString();
    io.stdout.write(`restored ${String(manifest.files.length)} files of ${made}\n`);
    if (keptAside !== null) io.stdout.write(`what was there before: ${keptAside}\n`);
    if (pausedCampaigns > 0) io.stdout.write(`campaigns paused: ${String(pausedCampaigns)}\n`);
    return 0;
  },
});
