export { Daemon, type DaemonListeners, type DaemonOptions, type DaemonParts, type DaemonSettings } from './daemon.js';
export { type FastifyScope, parley, type ParleyPluginOptions } from './fastify-plugin.js';
export type { SessionHandle as Session } from '../engine/remote-line.js';
export type {
  AgentChange,
  AgentRegistry,
  AgentRegistryOptions,
  ChangeOptions,
  CheckedAgent,
  HostedAgent,
  VersionChoice,
  VersionedAgent,
  WorkingAgent,
} from './agents/agents.js';
export type { Log, LogFields, LogLevel } from './operations/log.js';
export type { Settings, SettingsFile } from '../settings/settings.js';
export type { CampaignSchedule } from '../settings/campaign-schedule.js';
export type { CallGuards, EvalSettings, Limits, MediaSettings, WebRtcSettings } from '../settings/setting-groups.js';
export type {
  AgentContent,
  AgentSplit,
  AgentStep,
  AgentVersion,
  Author,
  Publishing,
  StoredAgent,
  VersionPin,
} from '../store/agents.js';
export type { SqlValue, Statement, StatementResult, Transaction } from '../store/sql/statement.js';
export type { PlivoSettings } from '../settings/carriers/plivo.js';
export type { SipSettings } from '../settings/carriers/sip.js';
export type { TelnyxSettings } from '../settings/carriers/telnyx.js';
export type { TwilioSettings } from '../settings/carriers/twilio.js';
