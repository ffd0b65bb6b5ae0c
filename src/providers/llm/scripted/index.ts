export { fallbackScript } from './fallback-script.js';
export { noModelScript } from './fallback-script.js';
export { speechHints } from './hints.js';
export { scriptedProvider } from './provider.js';
export { flowHints, flowPatternFaults } from './steps.js';
export { parseScript, type AgentScriptInput } from './schema.js';
export { type ScriptToolUse, scriptToolUses, toolUsesOf } from './tool-uses.js';
