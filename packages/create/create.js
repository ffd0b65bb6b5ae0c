#!/usr/bin/env node
/** `npm create @parley-voice/parley -- ARGS` is `parley init ARGS`. */
process.argv.splice(2, 0, 'init');
await import(new URL('bin/parley.js', import.meta.resolve('@parley-voice/parley/package.json')).href);
