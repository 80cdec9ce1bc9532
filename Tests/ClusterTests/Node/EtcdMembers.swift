import Foundation
import Glibc
import TestSupport

/// Three members of etcd on loopback ports of their own, with their data in memory.
final class EtcdMembers {
    static let program = "/usr/bin/etcd"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }

    let endpoints: [String]
    private let folder: String
    private var processes: [Process?] = [nil, nil, nil]
    private let ports: [Int]

    init() throws {
        folder = "/dev/shm/tessera-etcd-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        ports = Self.freePorts(6)
        endpoints = ports.prefix(3).map { "http://127.0.0.1:\($0)" }
    }

    deinit {
        for index in processes.indices { kill(index) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Starts a member, with the data that it left.
    func start(_ index: Int) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program)
        let peers = (0..<3).map { "n\($0)=http://127.0.0.1:\(ports[3 + $0])" }.joined(separator: ",")
        let peer = "http://127.0.0.1:\(ports[3 + index])"
        process.arguments = [
            "--name", "n\(index)", "--data-dir", "\(folder)/\(index)", "--initial-cluster", peers,
            "--initial-advertise-peer-urls", peer, "--listen-peer-urls", peer, "--listen-client-urls",
            endpoints[index], "--advertise-client-urls", endpoints[index], "--heartbeat-interval", "50",
            "--election-timeout", "500", "--log-level", "error",
        ]
        (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        process.qualityOfService = .default
        try process.run()
        processes[index] = process
    }

    func kill(_ index: Int) {
        guard let process = processes[index] else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        processes[index] = nil
    }

    /// Ports that nobody listens on: the system gave them out, and they are free again.
    private static func freePorts(_ count: Int) -> [Int] {
        var (sockets, ports): ([Int32], [Int]) = ([], [])
        for _ in 0..<count {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            sockets.append(descriptor)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                    _ = bind(descriptor, pointer, size)
                    _ = getsockname(descriptor, pointer, &size)
                }
            }
            ports.append(Int(UInt16(bigEndian: address.sin_port)))
        }
        for descriptor in sockets { close(descriptor) }
        return ports
    }
}
