/** What embedders test with: doubles of providers, scenarios in virtual time, the transport contract, labels, leaks. */
export { energyVad } from './energy-vad.js';
export { functionLlm, type Answer, type FunctionLlmOptions } from './function-llm.js';
export { promptedStt, type PromptedSttOptions } from './prompted-stt.js';
export { toneTts, type ToneTtsOptions } from './tone-tts.js';
export { Stage, type StageConfig, type StageOptions } from './stage.js';
export { generate, seedOf, shrink, simulate, stageFor, toSource } from './simulator/index.js';
export type { Act, Failure, Outcome, Script } from './simulator/index.js';
export { readLog, replay, whatIf } from './replay/index.js';
export type { Difference, EventLog, PlayedTurn, Replayed, WhatIf } from './replay/index.js';
export { carrierContract, type ContractNetwork } from './carrier-contract.js';
export { transportContract, type ContractCheck, type ContractLine } from './transport-contract.js';
export { readFixtureLabels, readLabels, type FixtureLabels, type Labels, type ReadLabelsOptions } from './labels.js';
export { wordErrorRate, wordErrors, type WordErrors } from './wer.js';
export { assertNothingLeft, runningResources, type LeakOptions, type RunningResources } from './leaks.js';
