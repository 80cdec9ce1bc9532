import Driver
import PeerBodies

Driver.main(PeerTargets.all)
