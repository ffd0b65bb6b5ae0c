import { useCall, useCallEvent, useLevels, useTranscript } from '@parley-voice/react';
import { type ReactElement, useEffect, useRef } from 'react';

/** Inside a <ParleyProvider>. */
export function OwnDesign(): ReactElement {
  const { state, start, close } = useCall();
  const entries = useTranscript();
  useCallEvent('ended', ({ status }) => console.log('The call ended:', status));
  return (
    <>
      <Meter />
      <p>{entries.at(-1)?.text}</p>
      {state === 'idle' || state === 'ended' ? (
        <button onClick={() => void start({ metadata: { guest: 'Ann' } })}>Call</button>
      ) : (
        <button onClick={close}>Hang up</button>
      )}
    </>
  );
}

/** Follows the agent's voice without rendering anything again. */
function Meter(): ReactElement {
  const levels = useLevels();
  const meter = useRef<HTMLMeterElement>(null);
  useEffect(() => {
    let frame = requestAnimationFrame(function draw() {
      if (meter.current !== null) meter.current.value = levels.current.agent;
      frame = requestAnimationFrame(draw);
    });
    return () => cancelAnimationFrame(frame);
  }, [levels]);
  return <meter ref={meter} aria-label="Level of the agent's voice" />;
}
