/**
 * Outcome of one request, or of one stretch of speech, at one provider. `firstMs`: time from the request, or from the
 * end of the speech, to its first result: a token or tool call, audio, or the final transcript. `late`: it was too
 * slow, and another provider took over.
 */
export type ProviderOutcome = { provider: string; firstMs: number } | { provider: string; failed: 'error' | 'late' };
