import Conference
import Testing

@testable import Admission
@testable import Gateway
@testable import Settings
@testable import WebServer

@Suite struct DescriptorBudgetTests {
    @Test func `with enough descriptors the settings apply`() {
        let limits = TesseraConfiguration.Limits()
        let budget = DescriptorBudget(descriptors: DescriptorBudget.wanted(limits), limits)
        #expect(!budget.isShort)
        #expect(
            budget.connections == limits.connections && budget.mediaConnections == limits.conference.mediaConnections)
        #expect(budget.connectionsPerAddress == limits.connectionsPerAddress)
    }

    @Test(arguments: [128, 256, 512, 1024, 4096])
    func `the budget fits into the descriptors`(descriptors: Int) {
        let budget = DescriptorBudget(descriptors: descriptors, TesseraConfiguration.Limits())
        let sum =
            budget.connections + budget.mediaConnections + budget.downloads + DescriptorBudget.reserve
            + DescriptorBudget.margin
        #expect(sum <= descriptors, "\(budget)")
        #expect(budget.isShort && budget.connections >= 16 && budget.mediaConnections >= 8)
        #expect(budget.connectionsPerAddress < budget.connections, "one address leaves some to the others")
        #expect(budget.nodeConnections == 0)
    }

    @Test func `with enough descriptors the settings of a node apply, and clients of other nodes have as many`() {
        let limits = TesseraConfiguration.Limits()
        let wanted = DescriptorBudget.wanted(limits, isNode: true)
        #expect(wanted == DescriptorBudget.wanted(limits) + 2 * limits.connections + DescriptorBudget.nodeReserve)
        let budget = DescriptorBudget(descriptors: wanted, limits, isNode: true)
        #expect(!budget.isShort && budget.connections == limits.connections)
        #expect(budget.nodeConnections == limits.connections)
    }

    @Test(arguments: [256, 512, 1024, 4096, 8192])
    func `every client of a node has a descriptor for its way to another node`(descriptors: Int) {
        let budget = DescriptorBudget(descriptors: descriptors, TesseraConfiguration.Limits(), isNode: true)
        let pipes = budget.connections
        let sum =
            budget.connections + pipes + budget.nodeConnections + budget.mediaConnections + budget.downloads
            + DescriptorBudget.reserve + DescriptorBudget.margin + DescriptorBudget.nodeReserve
        #expect(sum <= descriptors, "\(budget)")
        #expect(budget.isShort && budget.connections >= 16 && budget.mediaConnections >= 8)
        #expect(budget.nodeConnections >= 16 && budget.connectionsPerAddress < budget.connections)
    }
}
