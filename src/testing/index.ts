/** What embedders' tests use beside `parley`: doubles of each provider, labels of recordings, a check for leaks. */
export { energyVad } from './energy-vad.js';
export { type Answer, functionLlm, type FunctionLlmOptions } from './function-llm.js';
export { promptedStt, type PromptedSttOptions } from './prompted-stt.js';
export { toneTts, type ToneTtsOptions } from './tone-tts.js';
export { type FixtureLabels, type Labels, readFixtureLabels, readLabels, type ReadLabelsOptions } from './labels.js';
export { assertNothingLeft, type LeakOptions, runningResources, type RunningResources } from './leaks.js';
export { wordErrorRate, type WordErrors, wordErrors } from './wer.js';
