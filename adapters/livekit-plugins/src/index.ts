export { LiveKitStt, type LiveKitSttOptions } from './stt.js';
export { LiveKitTts, type LiveKitTtsOptions } from './tts.js';
export type { PluginLogLevel } from './plugin-log.js';
