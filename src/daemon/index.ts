export { Daemon, type DaemonOptions } from './daemon.js';
export type { HostedAgent } from './agents/agents.js';
