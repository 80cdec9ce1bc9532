import Basics
import Conference
import RoomMedia

/// Merges the settings: defaults, then the YAML file, then the environment, then flags. File and environment are
/// arguments.
package struct ConfigurationLoader {
    /// A YAML text and its name in faults.
    package struct File: Sendable {
        package var name: String
        package var text: String

        package init(name: String, text: String) {
            self.name = name
            self.text = text
        }
    }

    /// A setting from the command line.
    package struct Flag: Sendable {
        /// `--listen`
        package var name: String
        /// `http.listen`
        package var path: String
        package var values: [String]

        package init(name: String, path: String, values: [String]) {
            self.name = name
            self.path = path
            self.values = values
        }
    }

    private var configuration = TesseraConfiguration()
    private var faults: [ConfigurationFault] = []

    private init() {}

    /// Returns the merged settings, or throws all their faults.
    package static func load(
        file: File? = nil, environment: [String: String] = [:], flags: [Flag] = []
    ) throws(ConfigurationFaults) -> TesseraConfiguration {
        var loader = ConfigurationLoader()
        if let file { loader.read(file) }
        loader.read(environment: environment)
        loader.read(flags: flags)
        if loader.faults.isEmpty { loader.faults = loader.configuration.contradictions() }
        guard loader.faults.isEmpty else { throw ConfigurationFaults(loader.faults) }
        loader.configuration.video.renditions.sort { ($0.height, $0.bitRate) > ($1.height, $1.bitRate) }
        return loader.configuration
    }

    // MARK: YAML

    private mutating func read(_ file: File) {
        do {
            guard let root = try YAMLNode.parse(file.text) else { return }
            if root.isNull { return }
            guard case .mapping(let mapping) = root.content else {
                faults.append(
                    ConfigurationFault(
                        key: file.name, value: nil, what: "the file must hold keys such as `http:` and `rooms:`"))
                return
            }
            read(mapping, under: "", in: file.name)
        } catch {
            faults.append(ConfigurationFault(key: file.name, value: nil, what: "not YAML: \(error)"))
        }
    }

    private mutating func read(_ mapping: [(key: YAMLNode, value: YAMLNode)], under prefix: String, in file: String) {
        for (keyNode, valueNode) in mapping {
            let name = keyNode.text ?? "?"
            let path = prefix.isEmpty ? name : "\(prefix).\(name)"
            let place = "\(file):\(keyNode.line)"
            if let key = ConfigurationSchema.byPath[path] {
                apply(RawSetting(valueNode), to: key, named: path, place: place)
            } else if ConfigurationSchema.isSection(path) {
                if case .mapping(let inner) = valueNode.content {
                    read(inner, under: path, in: file)
                } else if !valueNode.isNull {
                    let keys = ConfigurationSchema.keys.map(\.path).filter { $0.hasPrefix(path + ".") }
                    let what =
                        "must hold keys: " + keys.map { String($0.dropFirst(path.count + 1)) }.joined(separator: ", ")
                    faults.append(
                        ConfigurationFault(key: path, value: RawSetting(valueNode).text, what: what, place: place))
                }
            } else {
                let all = ConfigurationSchema.keys.map(\.path)
                faults.append(unknown(path, value: RawSetting(valueNode), among: all, place: place))
            }
        }
    }

    // MARK: Environment

    private mutating func read(environment: [String: String]) {
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("TESSERA_") {
            if let key = ConfigurationSchema.byEnvironmentName[name] {
                apply(RawSetting(line: text, isList: key.isList), to: key, named: name, place: nil)
            } else if !isMadeByKubernetes(name) {
                faults.append(
                    unknown(
                        name, value: nil, among: ConfigurationSchema.keys.map(\.environmentName), place: "environment"))
            }
        }
    }

    /// Kubernetes sets such variables in every pod for a service named `tessera`; they are no settings.
    private func isMadeByKubernetes(_ name: String) -> Bool {
        name == "TESSERA_PORT" || name.hasPrefix("TESSERA_PORT_") || name.hasPrefix("TESSERA_SERVICE_")
    }

    // MARK: Flags

    private mutating func read(flags: [Flag]) {
        for flag in flags {
            guard let key = ConfigurationSchema.byPath[flag.path] else { continue }
            let raw: RawSetting =
                key.isList
                ? .list(flag.values.map { .scalar($0, quoted: false) }) : .scalar(flag.values.last ?? "", quoted: false)
            apply(raw, to: key, named: flag.name, place: nil)
        }
    }

    // MARK: Both

    private mutating func apply(_ raw: RawSetting, to key: ConfigurationKey, named name: String, place: String?) {
        guard !key.apply(raw, &configuration) else { return }
        let value = key.isSecret ? nil : raw.text
        let what = key.explain(raw) ?? "not allowed; allowed is " + key.allowed
        faults.append(ConfigurationFault(key: name, value: value, what: what, place: place))
    }

    private func unknown(_ name: String, value: RawSetting?, among known: [String], place: String) -> ConfigurationFault
    {
        let hint = Spelling.nearest(name, among: known) ?? suggestionByLastPart(of: name, among: known)
        let what = "there is no such key" + (hint.map { "; did you mean \($0)?" } ?? "; “tessera settings” lists all")
        return ConfigurationFault(key: name, value: value?.text, what: what, place: place)
    }

    /// `width` at top level means `rooms.width`.
    private func suggestionByLastPart(of name: String, among known: [String]) -> String? {
        let last = name.split(separator: ".").last.map { $0.lowercased() }
        return known.first { $0.split(separator: ".").last.map { $0.lowercased() } == last }
    }
}

extension RawSetting {
    fileprivate init(_ node: YAMLNode) {
        switch node.content {
        case _ where node.isNull: self = .null
        case .scalar(let text, let style): self = .scalar(text, quoted: style == .quoted)
        case .sequence(let items): self = .list(items.map { RawSetting($0) })
        case .mapping(let members):
            self = .map(members.map { Entry(key: $0.key.text ?? "?", value: RawSetting($0.value)) })
        }
    }

    /// A list in an environment variable is comma-separated, or YAML in brackets.
    fileprivate init(line: String, isList: Bool) {
        guard isList else {
            self = .scalar(line, quoted: false)
            return
        }
        if line.hasPrefix("["), let node = try? YAMLNode.parse(line) {
            self = RawSetting(node)
            return
        }
        let parts = line.split(separator: ",").map { part in
            String(part.trimmingPrefix { $0 == " " }.reversed().trimmingPrefix { $0 == " " }.reversed())
        }
        self = .list(parts.map { .scalar($0, quoted: false) })
    }
}
