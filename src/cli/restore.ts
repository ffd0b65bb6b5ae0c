import { nowUnixMs } from '../base/real-clock.js';
import { loadSettings } from '../settings/load-settings.js';
import { restore as restoreBackup } from '../store/backup/restore.js';
import { defineCommand } from './shared/command.js';
import { SETTINGS, settingsOf } from './shared/flags.js';

export const restore = defineCommand({
  about: `
    Replaces the daemon's data with an archive of \`parley backup\`. Stop the daemon first. The previous data move to a
    folder beside the data folder. Campaigns that were calling are paused: check them, then start them again.

    With PARLEY_DATABASE_URL, it takes archives of such nodes only: restore the database with pg_restore.`,
  args: [{ name: 'FILE', help: 'the archive', stream: 'in' }],
  flags: { ...SETTINGS, json: { help: 'print what was done as JSON' } },
  async run({ values, positionals: [from = ''] }, io) {
    const { settings } = await loadSettings({ env: io.env, flags: settingsOf(values) });
    const { manifest, keptAside, pausedCampaigns } = await restoreBackup({
      dataDir: settings.dataDir,
      withoutDatabases: settings.databaseUrl !== null,
      from,
      unixMs: nowUnixMs(),
    });
    if (values.json) {
      io.stdout.write(`${JSON.stringify({ manifest, kept_aside: keptAside, paused_campaigns: pausedCampaigns })}\n`);
      return 0;
    }
    const made = new Date(manifest.created_at * 1000).toISOString();
    io.stdout.write(`restored ${String(manifest.files.length)} files from ${made}\n`);
    if (keptAside !== null) io.stdout.write(`previous data: ${keptAside}\n`);
    if (pausedCampaigns > 0) io.stdout.write(`campaigns paused: ${String(pausedCampaigns)}\n`);
    return 0;
  },
});
