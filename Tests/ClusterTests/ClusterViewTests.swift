import Cluster
import Testing

@Suite struct ClusterViewTests {
    @Test(arguments: ClusterView.Standing.allCases)
    func `only a node that is alone, fenced or was never registered is not ready`(standing: ClusterView.Standing) {
        #expect(ClusterView(standing: standing).isReady == ![.alone, .fenced, .joining].contains(standing))
    }
}
