/** Silence left after a spoken sentence and after a clause, in milliseconds, between utterances and within one. */
export const SENTENCE_PAUSE_MS = 180;
export const CLAUSE_PAUSE_MS = 60;
