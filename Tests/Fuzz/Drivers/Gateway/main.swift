import Driver
import GatewayBodies

Driver.main(GatewayTargets.all)
