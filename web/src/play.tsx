// The page "Play": play against a network, or let it analyse a position.
import { Empty } from "./parts/empty";

export function Play() {
  return <Empty title="Play">This build of vecchess has no play page.</Empty>;
}
