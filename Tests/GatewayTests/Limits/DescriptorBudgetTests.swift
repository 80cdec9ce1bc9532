import Conference
import Testing

@testable import Gateway

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
    }
}
