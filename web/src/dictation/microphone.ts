// The microphone of this browser: opened when somebody presses, closed as soon as they have spoken.
//
// The one rule it keeps: what was opened is closed, whatever happened in between, so that no light stays on.
import address from "./capture.worklet?worker&url";

/** A microphone that is open. */
export interface Recording {
  /** Hands on portions of 16-bit samples at 16 kHz, also those from before this was called. */
  begin(sound: (portion: ArrayBuffer) => void, ended: () => void): void;
  /** Hands on what is left, and closes. */
  finish(): Promise<void>;
  /** Closes at once. */
  close(): void;
}

/** How long the audio thread may take to hand over the last portion. */
const LAST_MS = 2_000;

/** Opens it; throws what the browser throws. */
export async function openMicrophone(): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true, autoGainControl: true },
  });
  const context = new AudioContext();
  const close = () => {
    for (const track of stream.getTracks()) track.stop();
    if (context.state !== "closed") void context.close();
  };
  try {
    await context.audioWorklet.addModule(address);
    await context.resume();
    const capture = new AudioWorkletNode(context, "jackfield-capture", {
      channelCount: 1,
      channelCountMode: "explicit",
      channelInterpretation: "speakers",
    });
    context.createMediaStreamSource(stream).connect(capture);
    // It plays nothing, but browsers run only what leads to a loudspeaker.
    capture.connect(context.destination);
    return recording(stream, capture.port, close);
  } catch (error) {
    close();
    // Its name must not be taken for one that the microphone itself gives.
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`the page's recorder did not start (${why}); load the page again`);
  }
}

/** Whether the browser will give it without asking. */
export async function isGranted(): Promise<boolean> {
  try {
    const { state } = await navigator.permissions.query({ name: "microphone" as PermissionName });
    return state === "granted";
  } catch {
    // Not every browser tells.
    return false;
  }
}

function recording(stream: MediaStream, port: MessagePort, close: () => void): Recording {
  let finished: () => void = () => undefined;
  return {
    begin: (sound, ended) => {
      port.onmessage = ({ data }: MessageEvent<ArrayBuffer | null>) => {
        if (data === null) finished();
        else sound(data);
      };
      for (const track of stream.getTracks()) track.onended = ended;
    },
    finish: async () => {
      await new Promise<void>((resolve) => {
        finished = resolve;
        // A context that the system has put to sleep says nothing more.
        setTimeout(resolve, LAST_MS);
        port.postMessage(null);
      });
      close();
    },
    close: () => {
      port.onmessage = null;
      close();
    },
  };
}
