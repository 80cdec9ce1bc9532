import Cluster
import Testing

@Suite struct ClusterViewTests {
    @Test(arguments: ClusterView.MembershipState.allCases)
    func `only a node that is alone, fenced or was never registered is not ready`(standing: ClusterView.MembershipState)
    {
        #expect(ClusterView(standing: standing).isReady == ![.alone, .fenced, .joining].contains(standing))
    }
}
