import Driver
import MediaBodies

Driver.main(MediaTargets.all)
