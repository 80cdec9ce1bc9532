import Basics
import Cluster

extension ConfigurationSchema {
    static let clusterKeys: [ConfigurationKey] = [
        ConfigurationKey(
            "cluster.etcd", \.cluster.etcd,
            .list(of: etcd, "a list of etcd's client URLs such as http://10.0.0.1:2379", count: 0...16)),
        ConfigurationKey("cluster.user", \.cluster.user, .text("the name of a user of etcd")),
        ConfigurationKey("cluster.password", \.cluster.password, .text("text"), secret: true),
        ConfigurationKey("cluster.tls.authority", \.cluster.tls.authority, .text("the path of a PEM file")),
        ConfigurationKey("cluster.tls.certificate", \.cluster.tls.certificate, .text("the path of a PEM file")),
        ConfigurationKey("cluster.tls.key", \.cluster.tls.key, .text("the path of a PEM file")),
        ConfigurationKey("cluster.node", \.cluster.node, nodeName),
        ConfigurationKey("cluster.zone", \.cluster.zone, nodeName),
        ConfigurationKey("cluster.listen", \.cluster.listen, endpoint),
        ConfigurationKey("cluster.advertise", \.cluster.advertise, endpointOrNone),
        ConfigurationKey("cluster.secret", \.cluster.secret, .text("text"), secret: true),
        ConfigurationKey(
            "cluster.ttl", \.cluster.ttl, .duration(.seconds(3)...(.seconds(60)), "from 3s to 60s")),
        ConfigurationKey("cluster.drain.mode", \.cluster.drain.mode, .choice),
        ConfigurationKey(
            "cluster.drain.within", \.cluster.drain.within,
            .duration(.seconds(1)...(.seconds(86400)), "from 1s to 24h")),
    ]

    private static let etcd = ConfigurationRule<String>.text("a URL") { ClusterSettings.isURL($0) }

    /// What stands in keys of the store and in ids.
    private static let nodeName = ConfigurationRule<String>.text("at most 63 letters, digits, - and .") {
        NodeRecord.isName($0)
    }
}
