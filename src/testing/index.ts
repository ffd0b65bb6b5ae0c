/** Test tools for embedders: doubles of providers, scenarios in virtual time, contracts, labels, leak checks. */
export { energyVad } from './doubles/energy-vad.js';
export { functionLlm, type Answer, type FunctionLlmOptions } from './doubles/function-llm.js';
export { promptedStt, type PromptedSttOptions } from './doubles/prompted-stt.js';
export { toneTts, type ToneTtsOptions } from './doubles/tone-tts.js';
export { runTool, type RunToolOptions, type ToolRun } from './doubles/run-tool.js';
export { MemoryCaller } from './doubles/memory-caller.js';
export { Stage, type StageConfig, type StageOptions } from '../stage/stage.js';
export { generate, seedOf, shrink, simulate, stageFor, toSource } from './simulator/index.js';
export type { Act, Outcome, Script, SimulationFailure } from './simulator/index.js';
export { readLog } from '../replay/read-log.js';
export { replay } from '../replay/replay.js';
export { whatIf } from '../replay/what-if.js';
export type { Difference, Replayed } from '../replay/replay.js';
export type { EventLog } from '../replay/read-log.js';
export type { PlayedTurn, WhatIf } from '../replay/what-if.js';
export { carrierContract, type ContractNetwork } from './contracts/carrier-contract.js';
export { transportContract, type ContractCheck, type ContractLine } from './contracts/transport-contract.js';
export {
  readFixtureLabels,
  readLabels,
  type FixtureLabels,
  type Labels,
  type ReadLabelsOptions,
} from './labels/labels.js';
export { wordErrorRate, wordErrors, type WordErrors } from './labels/wer.js';
export { assertNothingLeft, runningResources, type LeakOptions, type RunningResources } from './leaks.js';
export type { ConfigChanges } from '../agent/flow/conversation-config.js';
export type { PlayedDecision } from '../replay/what-if.js';
export type { AgentExpectation } from '../stage/timeline.js';
export type { StageLine, StageTransfer } from '../stage/line.js';
export type { ModelEvent, ReplyTiming, ScriptedCall, StageModel, StageRequest } from '../stage/model.js';
export type { StageAgents, StageToolRun, StageTools, StageWatcher } from '../stage/stage.js';
export type { StageUtterance, Timeline } from '../stage/timeline.js';
export type { GreetsOptions, SaysOptions, StageUser, Stretch } from '../stage/user.js';
export type { StageVoice, StageVoiceOptions, VoiceWatcher } from '../stage/voice.js';
export { assertPasses, evalMatchers, evaluate, type EvaluateOptions } from '../eval/evaluate.js';
export type { EvalAgent } from '../eval/agent.js';
export type { CheckedCall } from '../eval/expectations/check.js';
export type { UserCheck } from '../eval/expectations/deciders.js';
export type {
  CaseResult,
  CaseRun,
  EvalLine,
  EvalMetrics,
  ExpectationResult,
  JudgeVote,
  ModelIdentity,
  ModelUsage,
} from '../eval/result.js';
export type { EvalCase, EvalMode } from '../eval/suite/suite-schema.js';
