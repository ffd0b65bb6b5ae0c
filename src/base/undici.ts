/**
 * undici by the names that are used of it, for those who load it late: it takes longer to load than all of ours that a
 * session needs, and a session whose providers are embedded needs none of it. (Of a package of CommonJS that is
 * imported late a bundle keeps no names; of this file it does.)
 */
export { Agent, Pool, request } from 'undici';
