export { AiSdkLlm, type AiSdkOptions } from './provider.js';
export type { AiSdkCall, AiSdkMessage, AiSdkModel, AiSdkPart, AiSdkProviderOptions } from './model.js';
