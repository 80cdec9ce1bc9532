import Foundation
import PackagePlugin

/// Bundles the web client's files for the target `WebFiles`, at each build after a change of one.
@main struct PageBundle: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let package = context.package.directoryURL
        let script = package.appending(path: "scripts/bundle_page.py")
        let sources = package.appending(path: "Sources/Web")
        let files = try FileManager.default.contentsOfDirectory(
            at: sources, includingPropertiesForKeys: nil, options: .skipsHiddenFiles)
        let output = context.pluginWorkDirectoryURL.appending(path: "WebFile+All.swift")
        return [
            .buildCommand(
                displayName: "Bundling the page", executable: URL(filePath: "/usr/bin/env"),
                arguments: ["python3", script.path, sources.path, output.path], inputFiles: files + [script],
                outputFiles: [output])
        ]
    }
}
