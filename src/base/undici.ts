/**
 * The parts of undici in use, for dynamic import: undici loads slowly, and sessions with embedded providers do not need
 * it. This file exists because bundlers keep no export names of a CommonJS package that is imported dynamically.
 */
export { Agent, Pool, request } from 'undici';
