/**
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {string[]} skippedNames every test that was left out, with its file
 */

/**
 * Counts the tests in a report of vitest's JSON reporter. A file that failed outside its tests (it could not be
 * loaded, or left something running) is one failure; so is a run that failed though nothing in its report did, or
 * that ran no test at all.
 * @param {string} report
 * @param {boolean} succeeded how the run itself ended
 * @returns {Counts}
 */
export function countTests(report, succeeded) {
  const counts = { passed: 0, failed: 0, skipped: 0, skippedNames: /** @type {string[]} */ ([]) };
  for (const file of filesOf(report)) {
    const failedBefore = counts.failed;
    for (const { status, fullName } of file.assertionResults) {
      if (status === 'passed') counts.passed++;
      else if (status === 'failed') counts.failed++;
      else {
        counts.skipped++;
        counts.skippedNames.push(`${file.name}: ${fullName}`);
      }
    }
    if (file.status === 'failed' && counts.failed === failedBefore) counts.failed++;
  }
  const ran = counts.passed + counts.failed > 0;
  if (counts.failed === 0 && !(succeeded && ran)) counts.failed = 1;
  return counts;
}

/**
 * @param {string} report
 * @returns {{ name: string, status: string, assertionResults: { status: string, fullName: string }[] }[]}
 */
function filesOf(report) {
  try {
    return JSON.parse(report).testResults;
  } catch {
    return [];
  }
}
