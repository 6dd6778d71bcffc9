// A line that says when the server is not heard. Nothing has to be done: it comes back by itself.
import { useConnection } from "../stream";

export function ConnectionLine() {
  const { isLost, why } = useConnection();
  return (
    <div role="status" class={isLost ? "lost" : ""}>
      {isLost && `${why} What you see may be old; trying again by itself.`}
    </div>
  );
}
