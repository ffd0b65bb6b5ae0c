import { initializeLogger, loggerOptions } from '@livekit/agents';

export type PluginLogLevel = 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug';

/**
 * Plug-ins cannot be made before their framework has a log. It goes to the standard output, and what they write there
 * may hold what was said: so it is silent unless it is asked for. One that is there already stays.
 */
export function ensureLog(level: PluginLogLevel = 'silent'): void {
  if (loggerOptions() === undefined) initializeLogger({ pretty: false, level });
}
