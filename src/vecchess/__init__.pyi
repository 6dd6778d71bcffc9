from vecchess.api import TrainedRun as TrainedRun
from vecchess.api import load_network as load_network
from vecchess.api import match as match
from vecchess.api import search as search
from vecchess.api import selfplay as selfplay
from vecchess.api import train as train
from vecchess.env import ChessEnv as ChessEnv
from vecchess.errors import VecchessError as VecchessError
from vecchess.inference.open_network import Evaluation as Evaluation
from vecchess.inference.open_network import OpenNetwork as OpenNetwork

__version__: str
